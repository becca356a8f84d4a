package mirror

// Synced is closed once the objects of all resources have been passed on.
func (k *Keeper) Synced() <-chan struct{} { return k.known }
