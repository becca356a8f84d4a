// Package controller holds, as values in a table, the controllers that API users expect.
//
//	table.go                the controller value, and the table
//	controller.go           which of them run, and since when
//	selection.go            --controllers
//	certificatesigning.go   signs approved requests for certificates
//	certificatecleaning.go  deletes old requests
//	clusterrole.go          fills in the rules of cluster roles that aggregate others
//	claims.go               keeps claims of volumes while pods use them
//	volumes.go              keeps volumes while they are bound
//	servicecidr.go          keeps the ranges of services' addresses while they are used
//	finishedjobs.go         deletes finished jobs after their TTL
//	fixture.go              the objects that every namespace has
//	tokensecret.go          fills secrets with tokens of service accounts; tokensecret_follow.go tracks these secrets
//	legacytoken.go          retires such tokens when they are unused
//	legacytoken_tracking.go records when they were last used
//	policystatus.go         reports type errors in policies' expressions; policystatus_check.go finds them
//	flowcontrol.go          the flow schemas and priority levels that every server has
//	apiservice.go           an APIService for each version of a group
//
// These are packages of their own:
//
//	namespace      the namespaces that every cluster has; empties deleted ones
//	garbage        deletes objects whose owners are gone
//	resourcequota  counts the usage of namespaces' quotas
//	repair         corrects the allocation of cluster IPs and node ports
//	feed           one watch over all keys, for all followers of etcd's content
//	lease          chooses the process that runs them, if several share an etcd
//	work           their common parts
//
// Those in [Names] are kube-controller-manager's, with its names: --controllers turns them on and off. The
// others belong to a Kubernetes API server, and run whenever it creates initial objects.
//
// In come the installed storages by resource, looked up each time, since custom resources come and go. Out go
// calls of these storages in this process, without HTTP, as the user of upstream's controller of the same name.
// Writes of kube-controller-manager's controllers pass admission; those of the server itself do not.
//
// # Invariants
//
//  1. Any number of processes may run them on one etcd at once. Each step may be repeated, and work that
//     another process has already done is no error. A Lease, where there is one, saves work: only its holder
//     runs them.
//  2. All state is in etcd. Kill any process at any moment, and another, or the next one, continues its work.
//  3. An idle controller has one watch for each resource that it follows, or shares one for all keys. Flow
//     control's objects are checked once a minute instead.
package controller
