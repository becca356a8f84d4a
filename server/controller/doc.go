// Package controller has controllers that users of the API expect, as values, and is the table of them.
//
//	table.go                what a controller is as a value, and which there are
//	controller.go           which of them run, and since when
//	selection.go            --controllers
//	certificatesigning.go   approved requests for certificates, signed
//	certificatecleaning.go  the end of old requests
//	clusterrole.go          the rules of cluster roles that aggregate others
//	claims.go               what keeps claims of volumes while pods use them
//	volumes.go              what keeps volumes while they are bound
//	servicecidr.go          what keeps the ranges of services' addresses while they are used
//	finishedjobs.go         the end of finished jobs that say how long they stay
//	fixture.go              the objects that every namespace has
//	tokensecret.go          secrets with tokens of service accounts; tokensecret_follow.go has which of them are known
//	legacytoken.go          the end of those tokens that nobody uses
//	legacytoken_tracking.go when they were used last
//	policystatus.go         what is wrong with the types in policies' expressions; policystatus_check.go finds that
//	flowcontrol.go          the flow schemas and priority levels that every server has
//	apiservice.go           an APIService for each version of a group
//
// These are packages of their own:
//
//	namespace      the namespaces that every cluster has, and the end of deleted ones
//	garbage        the end of objects whose owners are gone
//	resourcequota  what objects use of the quotas of their namespaces
//	repair         who has which cluster IP and which node port, put right
//	feed           one watch over all keys, for all that follow what is in etcd
//	lease          which process runs them, where several share an etcd
//	work           what they share
//
// The ones in [Known] are those of kube-controller-manager, under the names that it has for them: --controllers turns
// them on and off. The others are a Kubernetes API server's own, and always run where it makes initial objects.
//
// In come the installed storages by resource, looked up each time, since custom resources come and go. Out go calls of
// these storages in this process, without HTTP and admission, as the user of upstream's controller of the same name.
//
// # Invariants
//
//  1. Any number of processes may run them on one etcd at once. Each step may be repeated, and work that another
//     process has done already is no error. That they run in one process only, where a Lease can say in which, saves
//     work.
//  2. All state is in etcd. Kill any process at any moment, and another, or the next one, continues its work.
//  3. An idle controller has one watch a resource that it follows, or one for all keys. Flow control's objects are
//     looked at once a minute instead.
package controller
