// Package flowcontrol declares flow schemas and priority levels.
//
// They share [mandatory], which finds the objects that every API server keeps unchanged, and the rules for metadata
// and conditions.
package flowcontrol
