package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

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
			made, err := o.run(cmd.Flags().Changed("platform"))
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), made)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.archive, "archive", "", "directory to write an archive and the index to")
	cmd.Flags().StringVar(&o.binary, "binary", "", "kx to put into the archive (default: this one)")
	cmd.Flags().StringVar(&o.platform, "platform", runtime.GOOS+"/"+runtime.GOARCH, "what that kx runs on")
	cmd.Flags().StringVar(&o.url, "url", "",
		"where the archive will be downloaded from: the URL of the directory (default: that of the release)")
	return cmd
}

func (o *testassetsOptions) run(platformGiven bool) (string, error) {
	if o.archive != "" {
		return o.writeArchive()
	}
	if o.binary != "" || o.url != "" || platformGiven {
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
	dir, err := assets.Directory(filepath.Join(cache, "kx", "testassets"), version.Release, kx)
	if err != nil {
		return "", fmt.Errorf("make the directory of assets: %w", err)
	}
	return dir, nil
}

func (o *testassetsOptions) writeArchive() (string, error) {
	goos, arch, ok := strings.Cut(o.platform, "/")
	if !ok || goos == "" || arch == "" {
		return "", fmt.Errorf("--platform: %q is not a system and an architecture such as linux/amd64", o.platform)
	}
	kubernetes, _, _ := strings.Cut(version.Info().GitVersion, "+")
	a := &assets.Archive{KX: o.binary, Version: kubernetes, OS: goos, Arch: arch, URL: o.url}
	if a.URL == "" {
		if version.Release == "devel" {
			return "", errors.New("--url is missing: this kx is no release, so nothing says where the archive will be downloaded from")
		}
		a.URL = releasesURL + "/v" + strings.TrimPrefix(version.Release, "v")
	}
	if a.KX == "" {
		var err error
		if a.KX, err = os.Executable(); err != nil {
			return "", err
		}
	}
	return a.Write(o.archive)
}
