// Package storagemigration declares storage version migrations.
package storagemigration
