// Package componentstatus is the resource componentstatuses: whether the parts of a control plane are well. It is deprecated,
// and kubectl still asks for it.
//
// It owns the probes. Nothing is stored: a request asks etcd, and the scheduler and the controller manager where they would
// listen if they ran on this machine.
package componentstatus
