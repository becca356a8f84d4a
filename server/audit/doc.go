// Package audit builds the server's audit log from the library's parts.
//
// In come a policy file and where to write; without a file, the metadata of every write is logged. Out go the policy, which
// the audit filter consults for each request, and the sink for its events. Tokens in URIs are never written, and the content
// of a Secret only where the policy asks for bodies (core/mask).
package audit
