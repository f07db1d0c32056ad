package state

import "clusterctl/provision/inventory"

// Inventory reads the machines as the provider gave them last; false when there is no such list.
func (d *Dir) Inventory() (inventory.Inventory, bool, error) {
	var inv inventory.Inventory
	ok, err := d.readJSON(inventoryName, &inv)
	if !ok {
		return inventory.Inventory{}, false, err
	}
	return inv, true, nil
}

// SaveInventory stores the machines.
func (d *Dir) SaveInventory(inv inventory.Inventory) error { return d.writeJSON(inventoryName, inv) }
