"""The privacy report: one document on one mechanism, for those who must judge a release."""

from gdpbridge.report.privacy.report import FORMATS, PrivacyReport, privacy_report

__all__ = ["FORMATS", "PrivacyReport", "privacy_report"]
