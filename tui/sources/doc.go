// Package sources gets files of the server's source over its API, once, and keeps those that were looked at last ready to
// be shown. What another server, or none, can't give is said in words.
package sources
