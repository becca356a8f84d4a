package render

import (
	"fmt"
	"io"
	"path"

	"github.com/kx-apiserver/kx/core/sites"
)

// Steps writes a list of steps. The wide table includes the files.
func Steps(out io.Writer, format Format, all []sites.Step) error {
	if format == Wide {
		return All(out, Table, columns("STEP  LAYER  FUNCTION  PLACE  UPSTREAM  FILE  DOES", func(s sites.Step) []any {
			return []any{s.ID, s.Layer, path.Base(s.Function), fmt.Sprintf("%s:%d", s.File, s.Line), s.Upstream, s.UpstreamFile, s.Does}
		}), all...)
	}
	return All(out, format, columns("STEP  LAYER  FUNCTION  UPSTREAM  DOES", func(s sites.Step) []any {
		return []any{s.ID, s.Layer, path.Base(s.Function), s.Upstream, s.Does}
	}), all...)
}
