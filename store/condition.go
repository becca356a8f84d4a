package store

import "context"

// Condition makes a create depend on another object, such as the namespace of the new one: in the transaction that
// writes the object, the other one must still be at Revision. Without a Key there is no condition.
type Condition struct {
	// Etcd is where the create writes. The other object must be there too.
	Etcd Etcd
	// Key is the other object's, in the form that Interface takes.
	Key string
	// Revision is that of the other object's last change, as far as is known.
	Revision int64
	// Renew is called when the other object is at another revision. It returns the latest one, for another attempt,
	// or the error with which the create ends.
	Renew func(ctx context.Context) (int64, error)
}

// Etcd identifies an etcd, with the prefix of the keys in it. The zero value is none.
type Etcd struct {
	// InProcess is an etcd in this process, and Servers are the addresses of any other.
	InProcess any
	Servers   string
	Prefix    string
}

type conditionKey struct{}

// WithCondition returns a context for one create in an etcd, whose condition is to be filled in before the write.
func WithCondition(ctx context.Context, etcd Etcd) context.Context {
	return context.WithValue(ctx, conditionKey{}, &Condition{Etcd: etcd})
}

// ConditionOf returns the condition of a create, to be filled in or to be met, or nil.
func ConditionOf(ctx context.Context) *Condition {
	c, _ := ctx.Value(conditionKey{}).(*Condition)
	return c
}
