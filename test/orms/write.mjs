/**
 * Inserts and updates a voucher with one of the libraries, as a platform does, and prints the object that the library
 * then holds: `node write.mjs knex`. PGHOST, PGPORT, PGUSER and PGDATABASE name the database.
 */
const { PGHOST: host, PGPORT, PGUSER: user, PGDATABASE: database } = process.env
const connection = { host, port: Number(PGPORT), user, database }
const tenant = 1
const [library] = process.argv.slice(2)
const sold = { tenant_id: tenant, currency: 'GBP', initial_balance: '50', current_balance: '50' }

const writers = {
  async knex() {
    const { default: knex } = await import('knex')
    const db = knex({ client: 'pg', connection })
    const held = await db.transaction(async trx => {
      const [{ id }] = await trx('purchased_voucher')
        .insert({ ...sold, reference: 'KNEX-1' })
        .returning('id')
      const [row] = await trx('purchased_voucher')
        .where({ id, version: 1 })
        .update({ current_balance: '20', version: 2 })
        .returning(['id', 'current_balance', 'version'])
      return row
    })
    await db.destroy()
    return held
  },

  async sequelize() {
    const { Sequelize, DataTypes } = await import('sequelize')
    const db = new Sequelize({ dialect: 'postgres', ...connection, username: user, logging: false })
    const Voucher = db.define(
      'voucher',
      {
        id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
        tenant_id: DataTypes.BIGINT,
        reference: DataTypes.TEXT,
        currency: DataTypes.TEXT,
        initial_balance: DataTypes.DECIMAL,
        current_balance: DataTypes.DECIMAL,
      },
      { tableName: 'purchased_voucher', timestamps: false, version: 'version' },
    )
    const held = await db.transaction(async transaction => {
      const voucher = await Voucher.create({ ...sold, reference: 'SEQ-1' }, { transaction })
      await voucher.update({ current_balance: '20' }, { transaction })
      return voucher
    })
    // The optimistic lock fails when another statement has changed the row.
    await held.update({ current_balance: '10' })
    await db.close()
    return held.get()
  },

  async typeorm() {
    const { DataSource, EntitySchema } = await import('typeorm')
    const Voucher = new EntitySchema({
      name: 'voucher',
      tableName: 'purchased_voucher',
      columns: {
        id: { type: 'bigint', primary: true, generated: 'identity' },
        tenant_id: { type: 'bigint' },
        reference: { type: 'text' },
        currency: { type: 'text' },
        initial_balance: { type: 'numeric' },
        current_balance: { type: 'numeric' },
        version: { type: 'integer', version: true },
      },
    })
    const db = await new DataSource({
      type: 'postgres',
      ...connection,
      username: user,
      entities: [Voucher],
    }).initialize()
    const held = await db.transaction(async manager => {
      const vouchers = manager.getRepository(Voucher)
      const voucher = await vouchers.save({ ...sold, reference: 'TYPE-1' })
      return vouchers.save({ ...voucher, current_balance: '20' })
    })
    await db.getRepository(Voucher).findOneOrFail({
      where: { id: held.id },
      lock: { mode: 'optimistic', version: held.version },
    })
    await db.destroy()
    return held
  },

  async drizzle() {
    const { drizzle } = await import('drizzle-orm/node-postgres')
    const { and, eq } = await import('drizzle-orm')
    const { bigint, integer, numeric, pgTable, text } = await import('drizzle-orm/pg-core')
    const { default: pg } = await import('pg')
    const pool = new pg.Pool(connection)
    const db = drizzle(pool)
    const voucher = pgTable('purchased_voucher', {
      id: bigint({ mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
      tenant_id: bigint({ mode: 'number' }).notNull(),
      reference: text().notNull(),
      currency: text(),
      initial_balance: numeric(),
      current_balance: numeric(),
      version: integer().notNull().default(1),
    })
    const held = await db.transaction(async tx => {
      const [{ id }] = await tx
        .insert(voucher)
        .values({ ...sold, reference: 'DRIZZLE-1' })
        .returning({ id: voucher.id })
      const [row] = await tx
        .update(voucher)
        .set({ current_balance: '20', version: 2 })
        .where(and(eq(voucher.id, id), eq(voucher.version, 1)))
        .returning()
      return row
    })
    await pool.end()
    return held
  },
}

const { id, current_balance, version } = await writers[library]()
console.log(JSON.stringify({ id: Number(id), balance: Number(current_balance), version }))
