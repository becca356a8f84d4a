// Package issuer authenticates users by tokens of external issuers: JSON Web Tokens of OpenID Connect.
//
// In come an AuthenticationConfiguration, as a file or as the flags --oidc-*, and tokens. Out goes the user that the
// claims of a token map to, with the issuer; an error of the library, if the token is of a known issuer and invalid; or
// a rejection, if its issuer is unknown. The configuration's part about requests without credentials goes to package
// authn.
//
// # Invariants
//
//  1. The start waits for no issuer. A token of an issuer that has not been reached yet is refused.
//  2. A changed file replaces the old one whole or not at all, and only once it is valid and all its issuers have been
//     reached. Until then the old one counts.
//  3. Answers of an issuer are read up to a limit. Of a failure only the status code is kept.
//  4. A key set with a key that is too large to verify by is refused, and the previous keys stay.
//  5. All goroutines end with the context of [New].
package issuer
