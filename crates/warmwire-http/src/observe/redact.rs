//! URLs as they may be written down.

use std::fmt;

use http::Uri;

/// What stands in place of a secret, as the conventions for `url.full` have it.
const REDACTED: &str = "REDACTED";

/// Names of query parameters whose values let their bearer in: signatures of AWS, Google and Azure,
/// tokens, keys, passwords. Compared without case, `-` and `_`.
const SECRETS: [&str; 30] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "assertion",
    "auth",
    "authorization",
    "authtoken",
    "awsaccesskeyid",
    "clientassertion",
    "clientsecret",
    "code",
    "credential",
    "idtoken",
    "jwt",
    "key",
    "passwd",
    "password",
    "pwd",
    "refreshtoken",
    "secret",
    "session",
    "sessionid",
    "sessiontoken",
    "sig",
    "signature",
    "subscriptionkey",
    "token",
    "xamzsecuritytoken",
    "xapikey",
];

/// And those that end so: `X-Amz-Signature`, `x-goog-credential`.
const ENDINGS: [&str; 3] = ["signature", "credential", "securitytoken"];

/// The URL of a request without secrets: scheme and authority from `base`, the rest from `uri`.
pub(super) struct Redacted<'a> {
    pub(super) base: &'a Uri,
    pub(super) uri: &'a Uri,
}

impl fmt::Display for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.base.scheme_str() {
            write!(f, "{scheme}://")?;
        }
        if let Some(authority) = self.base.authority() {
            let authority = authority.as_str();
            match authority.rsplit_once('@') {
                Some((_, host)) => write!(f, "{REDACTED}:{REDACTED}@{host}")?,
                None => f.write_str(authority)?,
            }
        }
        f.write_str(self.uri.path())?;
        let Some(query) = self.uri.query() else { return Ok(()) };
        for (index, pair) in query.split('&').enumerate() {
            f.write_str(if index == 0 { "?" } else { "&" })?;
            match pair.split_once('=') {
                Some((name, _)) if is_secret(name) => write!(f, "{name}={REDACTED}")?,
                _ => f.write_str(pair)?,
            }
        }
        Ok(())
    }
}

fn is_secret(name: &str) -> bool {
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    let plain: String = letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    SECRETS.contains(&plain.as_str()) || ENDINGS.iter().any(|ending| plain.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(url: &str) -> String {
        let uri: Uri = url.parse().unwrap();
        Redacted { base: &uri, uri: &uri }.to_string()
    }

    #[test]
    fn secrets_are_not_written_down_and_the_rest_is() {
        for (url, shown) in [
            ("https://a.test:8443/x/y?limit=3&q", "https://a.test:8443/x/y?limit=3&q"),
            ("https://me:pass@a.test/", "https://REDACTED:REDACTED@a.test/"),
            ("https://a.test/?token=t&a=1", "https://a.test/?token=REDACTED&a=1"),
            ("https://a.test/?a=1&Access_Token=t=", "https://a.test/?a=1&Access_Token=REDACTED"),
            ("https://a.test/?X-Amz-Signature=1", "https://a.test/?X-Amz-Signature=REDACTED"),
            ("https://a.test/?X-Amz-Credential=1", "https://a.test/?X-Amz-Credential=REDACTED"),
            ("https://a.test/?X-Goog-Signature=1", "https://a.test/?X-Goog-Signature=REDACTED"),
            ("https://a.test/?sv=1&sig=s", "https://a.test/?sv=1&sig=REDACTED"),
            ("https://a.test/?keyboard=1&monkey=2", "https://a.test/?keyboard=1&monkey=2"),
        ] {
            assert_eq!(redacted(url), shown);
        }
    }
}
