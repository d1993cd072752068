//! The name of a certificate: its first DNS name, or its common name if it has none.
//!
//! Whether a name is one that its reader takes, such as how long it may be, is the reader's to say.

use rustls::pki_types::CertificateDer;
use x509_cert::{
    Certificate,
    der::{Decode, asn1::ObjectIdentifier},
    ext::pkix::{
        SubjectAltName,
        name::{DirectoryString, GeneralName},
    },
    name::Name,
};

use super::CertificateName;

/// The attribute of a subject that is its common name.
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

const UNREADABLE: &str = "can't be read";
const MISSING: &str = "is missing: it has neither a DNS name nor a common name";
const SEVERAL: &str = "is not clear: it has no DNS name, and several common names";

/// The name of a certificate.
pub(super) fn name_of(certificate: &CertificateDer<'_>) -> CertificateName {
    let certificate = Certificate::from_der(certificate).map_err(|_| UNREADABLE)?;
    let certificate = certificate.tbs_certificate();
    let alternatives = certificate.get_extension::<SubjectAltName>().map_err(|_| UNREADABLE)?;
    let names = alternatives.map(|(_, SubjectAltName(names))| names).unwrap_or_default();
    let dns_name = names.iter().find_map(|name| match name {
        GeneralName::DnsName(name) => Some(name.as_str().into()),
        _ => None,
    });
    dns_name.map_or_else(|| common_name(certificate.subject()), Ok)
}

fn common_name(subject: &Name) -> CertificateName {
    let mut names = subject.iter().filter(|attribute| attribute.oid == COMMON_NAME);
    match (names.next(), names.next()) {
        (None, _) => Err(MISSING),
        (Some(name), None) => {
            let text = DirectoryString::try_from(&name.value).map_err(|_| UNREADABLE)?;
            Ok((&*text.value()).into())
        }
        (Some(_), Some(_)) => Err(SEVERAL),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair, SanType};

    use super::*;

    const SECOND_COMMON_NAME: &[u64] = &[2, 5, 4, 3];

    fn named(subject: &[(DnType, DnValue)], alternatives: &[SanType]) -> CertificateName {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (attribute, value) in subject {
            params.distinguished_name.push(attribute.clone(), value.clone());
        }
        params.subject_alt_names = alternatives.to_vec();
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        name_of(certificate.der())
    }

    fn common(name: &str) -> (DnType, DnValue) {
        (DnType::CommonName, DnValue::from(name))
    }

    fn dns(name: &str) -> SanType {
        SanType::DnsName(name.try_into().unwrap())
    }

    #[test]
    fn the_first_dns_name_counts_before_the_common_name() {
        let address = || SanType::IpAddress([10, 0, 0, 7].into());
        let mail = || SanType::Rfc822Name("ci@example.org".try_into().unwrap());
        let id = || SanType::URI("spiffe://example.org/ci".try_into().unwrap());
        for (subject, alternatives, name) in [
            (vec![common("ci")], vec![], "ci"),
            (vec![common("ci")], vec![dns("ci.example.org"), dns("b")], "ci.example.org"),
            (vec![], vec![address(), mail(), dns("ci.example.org")], "ci.example.org"),
            (vec![common("ci")], vec![address(), mail(), id()], "ci"),
            (vec![(DnType::OrganizationName, "acme".into()), common("ci")], vec![], "ci"),
            (vec![common("Ren\u{e9}e")], vec![], "Ren\u{e9}e"),
            (vec![(DnType::CommonName, DnValue::PrintableString("ci".try_into().unwrap()))], vec![], "ci"),
            (vec![(DnType::CommonName, DnValue::BmpString("c\u{e9}".try_into().unwrap()))], vec![], "c\u{e9}"),
            (vec![common("")], vec![], ""),
            (vec![common("a\0b")], vec![], "a\0b"),
        ] {
            assert_eq!(named(&subject, &alternatives).as_deref(), Ok(name), "{subject:?} {alternatives:?}");
        }
    }

    #[test]
    fn a_certificate_without_one_clear_name_has_none() {
        let organization = (DnType::OrganizationName, DnValue::from("acme"));
        for subject in [vec![], vec![organization]] {
            assert_eq!(named(&subject, &[]), Err(MISSING), "{subject:?}");
        }
        let second = (DnType::CustomDnType(SECOND_COMMON_NAME.to_vec()), DnValue::from("ops"));
        assert_eq!(named(&[common("ci"), second.clone()], &[]), Err(SEVERAL));
        assert_eq!(named(&[common("ci"), second], &[dns("ci")]).as_deref(), Ok("ci"));
        assert_eq!(name_of(&CertificateDer::from(vec![0x30, 0x03, 1, 2, 3])), Err(UNREADABLE));
        assert_eq!(name_of(&CertificateDer::from(vec![])), Err(UNREADABLE));
    }
}
