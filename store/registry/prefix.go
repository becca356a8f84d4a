package registry

import "context"

// KeyPrefix begins the keys of all objects of the resource, below what begins all keys in etcd.
func (e *Store) KeyPrefix() string { return e.KeyRootFunc(context.Background()) + "/" }
