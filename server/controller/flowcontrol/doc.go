// Package flowcontrol keeps the flow schemas and priority levels that every server has.
//
// In comes a look at them once a minute. Out go writes of what is missing or not as it should be. Any number of processes may do
// so on one etcd: a write that another one has made needless is no error.
package flowcontrol
