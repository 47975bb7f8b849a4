"""What ``smem-lint server`` tells an editor: findings, bytes under the cursor, and fixes, for texts that need not be saved."""
