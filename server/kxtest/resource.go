package kxtest

import (
	"context"
	"fmt"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// checkResource finds out whether the server has a resource, and whether that has the verbs.
func (c *client) checkResource(verbs, resource string) error {
	if resource == "*" {
		return nil
	}
	lists, err := c.resources()
	if err != nil {
		return err
	}
	name, sub, below := strings.Cut(resource, "/")
	plural, group, _ := strings.Cut(name, ".")
	if below {
		plural += "/" + sub
	}
	offered, near := map[string]bool{}, map[string]bool{}
	for _, list := range lists {
		of, _, versioned := strings.Cut(list.GroupVersion, "/")
		if !versioned {
			of = ""
		}
		for _, r := range list.APIResources {
			if r.Name == plural && (group == "" || group == of) {
				for _, verb := range r.Verbs {
					offered[verb] = true
				}
			}
			if isNear(plural, &r) {
				near[qualified(r.Name, of)] = true
			}
		}
	}
	if len(offered) == 0 {
		return fmt.Errorf("the server has no resource %q%s", resource, suggestion(near))
	}
	for _, verb := range strings.Split(verbs, ",") {
		if verb != "*" && !offered[verb] {
			return fmt.Errorf("the resource %q has no verb %q: it has %s", resource, verb, strings.Join(keys(offered), ", "))
		}
	}
	return nil
}

// checkWebhook finds out whether a configuration of the server has an admission webhook of a name.
func (c *client) checkWebhook(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	near := map[string]bool{}
	for _, plural := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		var list struct {
			Items []struct {
				Webhooks []struct {
					Name string `json:"name"`
				} `json:"webhooks"`
			} `json:"items"`
		}
		if err := c.call(ctx, "GET", "/apis/admissionregistration.k8s.io/v1/"+plural, nil, &list); err != nil {
			return fmt.Errorf("list the webhooks: %w", err)
		}
		for _, configuration := range list.Items {
			for _, hook := range configuration.Webhooks {
				if hook.Name == name {
					return nil
				}
				if distance(name, hook.Name) <= 2 || strings.Contains(hook.Name, name) {
					near[hook.Name] = true
				}
			}
		}
	}
	return fmt.Errorf("the server has no admission webhook %q%s", name, suggestion(near))
}

// resources returns all resources. Those of API servers that do not answer are left out.
func (c *client) resources() ([]*metav1.APIResourceList, error) {
	_, lists, err := c.discovery.ServerGroupsAndResources()
	if len(lists) > 0 {
		return lists, nil
	}
	return nil, fmt.Errorf("list the server's resources: %w", err)
}

// qualified adds the group to the name of a resource, before its subresource.
func qualified(name, group string) string {
	if group == "" {
		return name
	}
	plural, sub, below := strings.Cut(name, "/")
	if below {
		return plural + "." + group + "/" + sub
	}
	return plural + "." + group
}

func suggestion(near map[string]bool) string {
	if len(near) == 0 {
		return ""
	}
	return "; near are " + strings.Join(keys(near), ", ")
}

func keys(of map[string]bool) (all []string) {
	for key := range of {
		all = append(all, key)
	}
	sort.Strings(all)
	return all
}

// isNear reports whether a name that is mistyped, singular or a kind may mean the resource.
func isNear(name string, r *metav1.APIResource) bool {
	name = strings.ToLower(name)
	for _, other := range append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...) {
		if name == other {
			return true
		}
	}
	return distance(name, r.Name) <= 2
}

// distance is the number of letters to insert, to remove or to replace that make a of b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := diagonal
			if a[i-1] != b[j-1] {
				replace++
			}
			diagonal = row[j]
			row[j] = min(replace, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
