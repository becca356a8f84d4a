// Package work has what controllers share: the storages that they call, as whom, how they pause after a failure, and [Owned], the
// objects of a resource by which a server describes itself.
//
// In come the installed storages by resource, looked up each time, since custom resources come and go. Out go contexts of
// requests to them in this process, without HTTP and admission.
package work
