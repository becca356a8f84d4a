// Package policy declares pod disruption budgets.
package policy
