// Package quota says what an object uses of resource quotas, and which quotas that counts for.
//
// In come objects and specs of quotas. Out go amounts by the names that quotas have for them, and which resources a
// quota counts. It knows neither storages nor requests, so that whoever counts what is there, and whoever judges what
// is to come, agree.
//
//	Measure    an object: what it uses, and what scopes ask about it
//	Resources  a quota: whose objects it counts, and Names by which of its names
//	Matches    a quota and an object: whether all scopes of the quota select the object, by Selectors of the one and Selected of the other
//	Sum        a quota and all objects: what it has of each name
//
// The rules are those of a Kubernetes API server's evaluators, except for extended resources that a DeviceClass stands
// for. Here they are charged to the pod that requests them, and no ResourceClaim is: upstream looks up the class, the
// pod and its claims.
//
// # Invariants
//
//  1. Nothing here reads a clock: what an object uses, and until when, follows from the object alone.
//  2. Amounts are exact. An amount keeps its format (1Gi, 1G): a sum has the format of the first amount that is not
//     zero.
package quota
