/** Medusa without Redis: its events and its cache are in its own process. */
module.exports = {
  projectConfig: {
    database_url: process.env.DATABASE_URL,
    jwt_secret: 'test',
    cookie_secret: 'test',
  },
  featureFlags: { product_categories: true },
  plugins: ['medusa-payment-manual', 'medusa-fulfillment-manual'],
  modules: {
    eventBus: { resolve: '@medusajs/event-bus-local' },
    cacheService: { resolve: '@medusajs/cache-inmemory' },
  },
}
