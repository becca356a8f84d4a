package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/assets"
	"github.com/kx-apiserver/kx/server/version"
)

// releasesURL is where the archives of releases are, in a directory for each.
const releasesURL = "https://github.com/kx-apiserver/kx/releases/download"

type testassetsOptions struct {
	archive, binary, platform, url string
}

func newTestassetsCommand() *cobra.Command {
	o := &testassetsOptions{}
	cmd := &cobra.Command{
		Use:   "testassets",
		Short: "Print a directory with kx as kube-apiserver, etcd and kubectl, for envtest",
		Long: `Print a directory with kx as kube-apiserver, etcd and kubectl, for KUBEBUILDER_ASSETS: envtest and its like start kx then, and
no test has to change. The directory is in the cache of the user, and is made if it does not exist. Another kx has another one.

By these names kx is what it is called, and takes its flags. As kube-apiserver it runs no controllers, so a deleted namespace does not
end; the variable KX_CONTROLLERS=on runs them, or some of them: KX_CONTROLLERS=namespace,garbagecollector.

With --archive it writes an archive for setup-envtest instead, and enters it into the index ` + assets.IndexName + ` beside it.`,
		Example: `  export KUBEBUILDER_ASSETS=$(kx testassets)
  go test ./...
  kx testassets --archive dist --url https://example.com/kx       # then setup-envtest use --index https://example.com/kx/` + assets.IndexName,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			made, err := o.run(cmd.Context())
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), made)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.archive, "archive", "", "directory to write an archive and the index to")
	cmd.Flags().StringVar(&o.binary, "binary", "", "kx to put into the archive (default: this one)")
	cmd.Flags().StringVar(&o.platform, "platform", "",
		"what that kx must have been built for, such as linux/amd64 (default: whatever it was built for)")
	cmd.Flags().StringVar(&o.url, "url", "",
		"where the archive will be downloaded from: the URL of the directory (default: that of the release)")
	return cmd
}

func (o *testassetsOptions) run(ctx context.Context) (string, error) {
	if o.archive != "" {
		return o.writeArchive(ctx)
	}
	if o.binary != "" || o.url != "" || o.platform != "" {
		return "", errors.New("--binary, --platform and --url are of archives: give --archive too")
	}
	kx, err := os.Executable()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache of the user: %w", err)
	}
	dir, err := assets.Directory(ctx, filepath.Join(cache, "kx", "testassets"), version.Release, kx)
	if err != nil {
		return "", fmt.Errorf("make the directory of assets: %w", err)
	}
	return dir, nil
}

func (o *testassetsOptions) writeArchive(ctx context.Context) (string, error) {
	kubernetes, _, _ := strings.Cut(version.Info().GitVersion, "+")
	a := &assets.Archive{KX: o.binary, Version: kubernetes, URL: o.url}
	if a.URL == "" {
		if version.Release == "devel" {
			return "", errors.New("--url is missing: this kx is no release, so nothing says where the archive will be downloaded from")
		}
		a.URL = releasesURL + "/v" + strings.TrimPrefix(version.Release, "v")
	}
	if at, err := url.Parse(a.URL); err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return "", fmt.Errorf("--url: %q is not a URL such as https://example.com/kx", a.URL)
	}
	var err error
	if a.KX == "" {
		if a.KX, err = os.Executable(); err != nil {
			return "", err
		}
	}
	if a.OS, a.Arch, err = assets.Platform(a.KX); err != nil {
		return "", fmt.Errorf("find what the kx of the archive was built for: %w", err)
	}
	if built := a.OS + "/" + a.Arch; o.platform != "" && o.platform != built {
		return "", fmt.Errorf("--platform is %s, but %s was built for %s: give another --binary, or leave --platform out",
			o.platform, a.KX, built)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // so that no half of an archive stays
	defer stop()
	return a.Write(ctx, o.archive)
}
