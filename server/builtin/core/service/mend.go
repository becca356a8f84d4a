package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

// REST is the storage of services. It also repairs the record of their node ports.
type REST struct {
	*builtin.REST

	ports *pool
}

var errAsItIs = errors.New("nothing is to be changed")

// MendPorts marks the node ports of services as taken, and frees those of leaked that no service has. It changes
// nothing if the record has changed after revision since.
func (r *REST) MendPorts(ctx context.Context, since int64, leaked []uint32) (changed bool, err error) {
	used, err := r.ports.inUse(ctx)
	if err != nil {
		return false, fmt.Errorf("find the node ports in use: %w", err)
	}
	err = r.ports.update(ctx, false, func(s span, bits *big.Int, revision uint64) error {
		was := new(big.Int).Set(bits)
		s.setAll(bits, leaked, 0)
		s.setAll(bits, used, 1)
		if revision > uint64(since) || bits.Cmp(was) == 0 {
			return errAsItIs
		}
		return nil
	})
	if errors.Is(err, errAsItIs) {
		return false, nil
	}
	return err == nil, err
}

// Allocation holds the range of node ports and the taken ones.
type Allocation struct {
	span
	bits *big.Int
}

// AllocationOf parses a stored RangeAllocation. A new one has the default range.
func AllocationOf(stored *corev1.RangeAllocation) (Allocation, error) {
	s, err := spanOf(stored)
	return Allocation{s, new(big.Int).SetBytes(stored.Data)}, err
}

// Range returns the range of ports as text, such as 30000-32767.
func (a Allocation) Range() string { return a.spec }

// Has reports whether a port is in the range.
func (a Allocation) Has(port uint32) bool {
	_, ok := a.index(port)
	return ok
}

// Taken reports whether a port is taken.
func (a Allocation) Taken(port uint32) bool {
	i, ok := a.index(port)
	return ok && a.bits.Bit(i) == 1
}

// All iterates over the taken ports.
func (a Allocation) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range a.size {
			if a.bits.Bit(i) == 1 && !yield(a.first+uint32(i)) {
				return
			}
		}
	}
}
