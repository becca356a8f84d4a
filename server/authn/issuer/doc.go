// Package issuer authenticates users by tokens that others have issued: JSON Web Tokens of OpenID Connect.
//
// In come an AuthenticationConfiguration, as a file or as the flags --oidc-*, and tokens. Out goes the user that the claims of a token map
// to, with the issuer; an error of the library, if the token is of an issuer that is known and does not hold; or a doubt, if no
// known issuer has issued it. What a configuration says of requests without credentials goes to package authn.
//
// # Invariants
//
//  1. The start waits for no issuer. A token whose issuer has not been reached yet is refused.
//  2. A file that has changed is taken over whole or not at all: not before it is valid and all its issuers have been reached. Until then
//     the one before counts.
//  3. What an issuer answers is read up to a limit, and nothing of a failure but its code.
//  4. A key set with a key that is too large to verify by is refused: the keys before count.
//  5. All that runs ends with the context of [New].
package issuer
