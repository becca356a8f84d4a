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

// REST is the storage of services, and mends what is stored of their node ports.
type REST struct {
	*builtin.REST

	ports *pool
}

var errAsItIs = errors.New("nothing is to be changed")

// MendPorts marks the node ports that services have as taken, and frees leaked ones that no service has. It changes
// nothing if somebody else has changed them since a revision.
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

// Allocation says which node ports are taken.
type Allocation struct {
	span
	bits *big.Int
}

// AllocationOf reads what is stored. A new RangeAllocation has the usual range.
func AllocationOf(stored *corev1.RangeAllocation) (Allocation, error) {
	s, err := spanOf(stored)
	return Allocation{s, new(big.Int).SetBytes(stored.Data)}, err
}

// Range is how the range of ports is written, such as 30000-32767.
func (a Allocation) Range() string { return a.spec }

// Has says whether a port is in the range.
func (a Allocation) Has(port uint32) bool {
	_, ok := a.index(port)
	return ok
}

// Taken says whether a port is taken.
func (a Allocation) Taken(port uint32) bool {
	i, ok := a.index(port)
	return ok && a.bits.Bit(i) == 1
}

// All are the ports that are taken.
func (a Allocation) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range a.size {
			if a.bits.Bit(i) == 1 && !yield(a.first+uint32(i)) {
				return
			}
		}
	}
}
