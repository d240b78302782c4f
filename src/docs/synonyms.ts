/**
 * The words that people may enter in the search instead of a word of the guides. A map and not an object, because a
 * word such as `constructor` is also a property of all objects.
 */
export const synonyms: ReadonlyMap<string, readonly string[]> = new Map([
  ['authentication', ['auth', 'login', 'signin']],
  ['token', ['credential', 'credentials', 'apikey']],
  ['valid', ['invalid']],
  ['401', ['unauthorized', 'unauthorised', 'unauthenticated']],
  ['permission', ['scope', 'role', 'access']],
  ['paging', ['pagination', 'paginate']],
  ['cursor', ['offset']],
  ['updated_since', ['incremental', 'delta', 'modified']],
  ['step', ['sync', 'synchronise', 'synchronize', 'mirror', 'poll', 'polling']],
  ['events', ['callback', 'callbacks', 'push', 'notification', 'notifications', 'realtime', 'hook', 'hooks']],
  ['secret', ['hmac', 'whsec']],
  ['removals', ['deleted', 'deletions', 'tombstones']],
  ['export', ['dump', 'backfill']],
  ['resolving', ['redeem', 'redeeming', 'scan', 'validate']],
  ['rate', ['throttling', 'throttle', 'quota']],
  ['429', ['throttled']],
  ['figures', ['analytics', 'statistics', 'report', 'reports', 'totals']],
  ['date_valid_end', ['expiry', 'expiration', 'expires']],
  ['reference', ['code']],
  ['marketing', ['newsletter', 'gdpr']],
  ['catalog', ['catalogue']],
  ['client', ['sdk', 'library']],
  ['changelog', ['releases', 'history']],
])
