package options

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Backup configures the archives of the server.
type Backup struct {
	// Dir is empty for no archives.
	Dir      string
	Interval time.Duration
	Keep     int
}

func (b *Backup) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&b.Dir, "backup-dir", b.Dir,
		"directory in which to make archives of etcd and the keys while the server runs, for kx etcd snapshot restore "+
			"(default: none are made)")
	fs.DurationVar(&b.Interval, "backup-interval", b.Interval, "how often to make an archive")
	fs.IntVar(&b.Keep, "backup-keep", b.Keep, "how many archives of this server to keep")
}

func (b *Backup) validate() error {
	var errs []error
	if b.Interval < time.Second {
		errs = append(errs, fmt.Errorf("--backup-interval: %v is too short: give a second or more", b.Interval))
	}
	if b.Keep < 1 {
		errs = append(errs, fmt.Errorf("--backup-keep: %d would keep none: give 1 or more", b.Keep))
	}
	return errors.Join(errs...)
}
