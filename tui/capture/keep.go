package capture

import (
	"encoding/json"
	"fmt"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/tui/screen"
)

// memory is the screen's state from one run to the next.
type memory struct {
	Filter string            `json:"filter,omitempty"`
	Named  map[string]string `json:"named,omitempty"`
}

var _ screen.Keeper = (*Screen)(nil)

func (s *Screen) Keep() any {
	if s.applied == "" && len(s.named) == 0 {
		return nil
	}
	return memory{Filter: s.applied, Named: s.named}
}

func (s *Screen) Restore(data json.RawMessage) error {
	var k memory
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	s.named = k.Named // one of another version of kx is refused when it is taken
	if _, err := filter.Parse(k.Filter, s.session.Names); err != nil {
		return fmt.Errorf("the filter %q: %w", k.Filter, err)
	}
	s.applied = k.Filter
	return nil
}
