package webhook

import (
	"fmt"
	"os"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/lines"
)

// Kubeconfig reads the address and credentials of a webhook from a file. Without a file it uses those of a pod.
// Errors name the file and the line.
func Kubeconfig(file string) (*rest.Config, error) {
	client, err := webhook.LoadKubeconfig(file, nil)
	if err == nil {
		return client, nil
	}
	if data, failed := os.ReadFile(file); failed == nil {
		err = lines.Error(data, err)
	}
	return nil, fmt.Errorf("%s: %w", file, err)
}
