// Package apiservice keeps an APIService for each version of a group that this server has, and says of the others whether their
// service exists.
//
// In come changes of APIServices and of definitions, and every 30 s a look at the services that APIServices name. Out go writes of
// APIServices and of their condition Available. Any number of processes may do so on one etcd: a write that another one has made
// needless is no error.
package apiservice
