package builtin

import (
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddConversion registers a conversion between two types.
func AddConversion[In, Out any](s *runtime.Scheme, convert func(*In, *Out) error) error {
	return s.AddConversionFunc((*In)(nil), (*Out)(nil), func(in, out any, _ conversion.Scope) error {
		return convert(in.(*In), out.(*Out))
	})
}

// AddSureConversion registers one that can't fail.
func AddSureConversion[In, Out any](s *runtime.Scheme, convert func(*In, *Out)) error {
	return AddConversion(s, func(in *In, out *Out) error {
		convert(in, out)
		return nil
	})
}

// ConvertList converts the items of a list of objects. The result is never nil.
func ConvertList[In, Out any](in []In, convert func(*In, *Out) error) ([]Out, error) {
	out := make([]Out, len(in))
	for i := range in {
		if err := convert(&in[i], &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ConvertAll converts the items of a list. It keeps the difference between no list and an empty one.
func ConvertAll[In, Out any](in []In, convert func(*In, *Out)) []Out {
	if in == nil {
		return nil
	}
	out := make([]Out, len(in))
	for i := range in {
		convert(&in[i], &out[i])
	}
	return out
}
