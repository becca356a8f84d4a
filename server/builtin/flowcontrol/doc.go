// Package flowcontrol declares flow schemas and priority levels, with what they share.
//
// It owns [Mandatory], the objects that every API server keeps as they are, and the rules for metadata and conditions
// that both resources have.
package flowcontrol
