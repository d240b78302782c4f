/** The sessions that set off a trigger: all, ordinary ones (`origin`), or appliers of a subscription (`replica`). */
export type Firing = 'always' | 'origin' | 'replica'

/** The triggers of a table, by name. */
export type TableTriggers = Readonly<Record<string, Firing>>

const listStamps: TableTriggers = { z_stamp: 'always', z_finalize_stamps: 'always' }

/** The triggers that `gateway.add_list` creates on a table. */
export const listTriggers: TableTriggers = {
  ...listStamps,
  a_require_read_committed: 'always',
  b_finalize_stamps: 'replica',
  record_deleted: 'always',
  record_moved: 'always',
  record_truncated: 'always',
}

/** The triggers of a table whose rows the products show. */
const productContent: TableTriggers = { queue_products: 'always', queue_products_on_truncate: 'always' }

/** The triggers that `sql/` creates, by table. A list is here only when it has triggers that `gateway.add_list` does not create. */
export const ownTriggers: Readonly<Record<string, TableTriggers>> = {
  'public.tenant': {
    ...listStamps,
    a_lock_ancestors_on_insert: 'origin',
    a_lock_ancestors_on_update: 'origin',
    a_lock_moved: 'origin',
    a_require_read_committed: 'always',
    b_finalize_stamps: 'replica',
    queue_inserted: 'replica',
    record_deleted: 'always',
    record_moved: 'always',
    record_truncated: 'always',
    require_read_committed: 'origin',
    z_finalize_deletion: 'always',
  },
  'public.category': {
    check_links_of_moved: 'origin',
    queue_products: 'always',
  },
  'public.product': { ...listTriggers, check_links_of_moved: 'origin' },
  'public.product_category': {
    ...productContent,
    a_check_links_on_insert: 'origin',
    a_check_links_on_update: 'origin',
  },
  'public.variant': { ...productContent, z_stamp: 'always' },
  'public.customer': {
    ...listTriggers,
    record_consent_withdrawn: 'always',
    record_unlisted_deleted: 'always',
    record_unlisted_moved: 'always',
    record_unlisted_truncated: 'always',
  },
  'gateway.removal': {
    record_purge_on_delete: 'always',
    record_purge_on_truncate: 'always',
  },
  'gateway.stamp_queue': { stamp_queued_at_commit: 'always' },
}
