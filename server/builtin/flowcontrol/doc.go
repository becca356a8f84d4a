// Package flowcontrol has what flow schemas and priority levels share.
//
// It owns [Mandatory], the objects that every API server keeps as they are, and the rules for metadata and conditions that
// both resources have.
package flowcontrol
