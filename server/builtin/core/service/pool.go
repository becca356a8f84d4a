package service

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/store"
)

// span is a range of ports.
type span struct {
	// spec is the range as text, as stored in etcd.
	spec  string
	first uint32
	size  int
	// static is the number of ports, from the first, that the pool chooses only when all others are taken. So a
	// service that requests a specific port is likely to find it free there.
	static int
}

// parsePorts reads a range such as "30000-32767".
func parsePorts(spec string) (span, error) {
	from, to, _ := strings.Cut(spec, "-")
	first, err := strconv.ParseUint(from, 10, 16)
	if err != nil {
		return span{}, err
	}
	last, err := strconv.ParseUint(to, 10, 16)
	if err != nil {
		return span{}, err
	}
	if first == 0 || last < first {
		return span{}, fmt.Errorf("%s is not a range of ports such as 30000-32767", spec)
	}
	size := int(last-first) + 1
	return span{spec: spec, first: uint32(first), size: size, static: clamp(size/32, 16, 128, size)}, nil
}

// spanOf returns the range of a RangeAllocation, or the default range for a new one.
func spanOf(allocation *corev1.RangeAllocation) (span, error) {
	spec := allocation.Range
	if spec == "" {
		spec = defaultPorts
	}
	s, err := parsePorts(spec)
	if err != nil {
		return span{}, fmt.Errorf("the range of node ports, stored at %s: %w", portsKey, err)
	}
	return s, nil
}

// clamp keeps n between least and most. A range too small to be split has no static part.
func clamp(n, least, most, size int) int {
	if size < least {
		return 0
	}
	return min(max(n, least), most)
}

// pool allocates ports, each once. The taken ports are a bitmap in etcd, so that all servers of one etcd agree. The
// bitmap is a big-endian number; its bit i stands for the port first+i.
type pool struct {
	storage store.Interface
	// inUse lists the ports of the existing services.
	inUse func(context.Context) ([]uint32, error)

	// counted is set once this process has marked the ports in use in etcd.
	counted atomic.Bool
}

var errPortTaken = errors.New("provided port is already allocated")

const portsKey = "/ranges/servicenodeports"

// take allocates port n. A dry run only checks that n is free. Like upstream's, it accepts ports outside the range.
func (p *pool) take(ctx context.Context, n uint32, dryRun bool) error {
	return p.change(ctx, dryRun, func(s span, bits *big.Int) error {
		i, ok := s.index(n)
		if !ok && dryRun {
			return nil
		}
		if !ok {
			return errors.New("provided port is not in the valid range. The range of valid ports is " + s.spec)
		}
		if bits.Bit(i) == 1 {
			return errPortTaken
		}
		bits.SetBit(bits, i, 1)
		return nil
	})
}

// next allocates the first free port.
func (p *pool) next(ctx context.Context) (n uint32, err error) {
	err = p.change(ctx, false, func(s span, bits *big.Int) error {
		for i := range s.size {
			i = (i + s.static) % s.size
			n = s.first + uint32(i)
			if bits.Bit(i) == 0 {
				bits.SetBit(bits, i, 1)
				return nil
			}
		}
		return errFull
	})
	return n, err
}

// release frees ports.
func (p *pool) release(ctx context.Context, numbers []uint32) error {
	if len(numbers) == 0 {
		return nil
	}
	return p.change(ctx, false, func(s span, bits *big.Int) error {
		s.setAll(bits, numbers, 0)
		return nil
	})
}

func (s span) index(n uint32) (int, bool) {
	i := int(n) - int(s.first)
	return i, i >= 0 && i < s.size
}

// setAll sets the bits of ports. It ignores ports outside the span.
func (s span) setAll(bits *big.Int, numbers []uint32, bit uint) {
	for _, n := range numbers {
		if i, ok := s.index(n); ok {
			bits.SetBit(bits, i, bit)
		}
	}
}

// change applies f to the bitmap in etcd; after a conflict it calls f again. The first change of this process also
// marks the ports of all existing services.
func (p *pool) change(ctx context.Context, dryRun bool, f func(span, *big.Int) error) error {
	if p.counted.Load() {
		return p.update(ctx, dryRun, func(s span, bits *big.Int, _ uint64) error { return f(s, bits) })
	}
	used, err := p.inUse(ctx)
	if err != nil {
		return fmt.Errorf("find the node ports in use: %w", err)
	}
	err = p.update(ctx, dryRun, func(s span, bits *big.Int, _ uint64) error {
		s.setAll(bits, used, 1)
		return f(s, bits)
	})
	if err == nil && !dryRun {
		p.counted.Store(true)
	}
	return err
}

// errDryRun aborts the update of a dry run before the write.
var errDryRun = errors.New("dry run")

// update applies f to the bitmap in etcd and its revision; after a conflict it calls f again.
func (p *pool) update(ctx context.Context, dryRun bool, f func(s span, bits *big.Int, revision uint64) error) error {
	err := p.storage.GuaranteedUpdate(ctx, portsKey, &corev1.RangeAllocation{},
		func(input runtime.Object, meta store.ResponseMeta) (runtime.Object, *uint64, error) {
			in := input.(*corev1.RangeAllocation)
			s, err := spanOf(in)
			if err != nil {
				return nil, nil, err
			}
			bits := new(big.Int).SetBytes(in.Data)
			if err := f(s, bits, meta.ResourceVersion); err != nil {
				return nil, nil, err
			}
			if dryRun {
				return nil, nil, errDryRun
			}
			out := in.DeepCopy()
			out.Range, out.Data = s.spec, bits.Bytes()
			return out, nil, nil
		}, store.UpdateOptions{IgnoreNotFound: true})
	if errors.Is(err, errDryRun) {
		return nil
	}
	return err
}
