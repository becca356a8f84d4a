// Package audit makes the server's audit log of the library's parts.
//
// What comes in is a policy file (or none, which means the metadata of every write) and where to write; what goes out
// is the policy that the audit filter asks for each request, and the sink that its events go to. Tokens in
// URIs are never written down, and what a Secret holds only where the policy asks for bodies (core/mask).
package audit
