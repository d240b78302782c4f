import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { extendDeadlines } from '../support/deadlines.ts'
import { administration } from './plans/administration.ts'
import { integration } from './plans/integration.ts'
import { testJourneys } from './plans/journey.ts'
import { namesIn } from './plans/plan.ts'
import { problemsOf } from './plans/problems.ts'
import { search } from './plans/search.ts'
import { large, seedTables, small } from './plans/seed.ts'
import { service } from './plans/service.ts'
import { toFile } from './plans/statements.ts'
import { webhooks } from './plans/webhooks.ts'

// The server analyses each statement, and on a busy machine this can exceed the time limit of a request.
extendDeadlines()

const generic = [...integration, ...administration, ...service, ...webhooks]
const journeys = [...generic, ...search]

/** The names of the statements that each tenant table has (src/domain/record/tenant-table.ts). */
const tenantTableStatements = ['list', 'list_of_tenants', 'count', 'find', 'find_many', 'chunk']

/** The names of the statements that a filtered or ordered list has (src/domain/search/search-table.ts). */
const searchStatements = ['search', 'search_range', 'search_sample', 'search_sizes', 'search_count']

/** Statements without a journey: the key is the reason, and the value has their names. */
const statementsWithoutJourney: Record<string, string> = {
  'test/db/shared-names.test.ts counts the rows that they read': 'resolution.find_crowded',
  'touches no table':
    'adoption.begin_reading session.lift_limits verify.begin verify.commit database.reach demo.no_timeout demo.today health.read_clock migration.begin migration.check_connection migration.commit migration.lock migration.prepare migration.roll_back definition.prepare',
  'reads the catalog, or the sessions of the server':
    'blockers.read migration.revoke rights.find_excess session.set_path migration.table_exists mapping.table_exists upgrade.read_rights locks.find_holders upgrade.estimate_indexes upgrade.read_captured drift.read drift.forget drift.note doctor.read_cluster doctor.read_server doctor.read_tables doctor.read_statements',
  'reads or writes one row for each file of sql/, or of the mapping':
    'migration.read migration.record definition.keep_template definition.read definition.record mapping.prepare_again mapping.capture_again mapping.read mapping.read_kind mapping.install mapping.install_none mapping.sources_to_capture mapping.capture mapping.give_to_reader mapping.grant_sources',
  'loads the demo data, as the owner': 'demo.analyze demo.is_demo demo.is_empty demo.move_sequence',
  'changes the demo data, as the owner': 'demo.consent demo.find_free_row demo.redeem demo.void',
  'the command import, as the owner: reads and writes whole tables':
    'copy.rows import.check_constraints import.count import.delete_others import.find_broken_constraints import.find_missing ' +
    'import.move_sequence import.prepare ' +
    'import.read_table import.stage import.write',
  'the command adopt check: reads the catalogue, and all rows of the platform':
    'adoption.begin adoption.create_view adoption.find_code adoption.find_literals adoption.read_types adoption.find_columns adoption.find_sources adoption.find_missing_rules adoption.read_sources adoption.find_rule adoption.drop_changed adoption.read_columns adoption.find_rows adoption.find_changes adoption.prepare_mapping adoption.read_login',
  'the command adopt: reads the catalogue, counts records, copies all ids':
    'adoption.read_tables adoption.read_progress adoption.estimate adoption.read_states adoption.export_mapping adoption.export_rejected adoption.read_rejected adoption.export_ids adoption.import_ids adoption.continue_ids adoption.remove adoption.stage_table adoption.find_rows_of_key adoption.find_state_of_key',
  'reads the catalogue of a platform on another server, or copies its tables':
    'platform.find_obstacles platform.find_rewritten platform.prepare_publication platform.read_login platform.reach platform.read_position platform.read_publication platform.read_server platform.read_slot platform.read_tables staging.analyze staging.begin_copy staging.begin_reading staging.begin_switch staging.begin_table staging.begin_trial staging.create_copy staging.drop_copy staging.drop_former_copy staging.drop_slots staging.drop_subscription staging.drop_table staging.end_copy staging.end_reading staging.end_switch staging.find_foreign staging.find_right staging.forget_changed staging.ignore_table staging.read_changed staging.read_name staging.skip_changes staging.find_other_slots staging.find_slots staging.find_subscription staging.forget_slot staging.find_worker staging.follow_table staging.follow_tables staging.index_table staging.leave_slot staging.limit_wait staging.lock staging.prepare_slot staging.prepare_source staging.read_all staging.read_other_slot staging.read_own_version staging.read_rows staging.read_slots staging.read_state staging.read_subscription staging.read_tables staging.save_look staging.stage_table staging.start staging.stop staging.subscribe staging.take_copy staging.take_snapshot staging.write_rows subscription.read_lag',
  'writes the one row of steps that fail': 'step.record_failure',
  'the command doctor: reads all rejected keys': 'doctor.read_gateway',
  'the command verify: reads all records':
    'figure.check figure.repair record.find_lost_references record.find_problems',
  'removals are not exported, and none is read by its id': 'removal.chunk removal.find removal.find_many',
}

const database = await createDatabase()
await seedTables(database)
/** For the text of each statement, the first journey that sends the statement. */
const firstJourneys = new Map<string, string>()

testJourneys(
  database,
  // Custom plans are checked for the journeys that can run twice, and for searches, whose statements get custom plans.
  { generic, custom: [...integration, ...search] },
  (plans, { runs, walks, excused, mostRows }) => {
    expect(plans.map(({ name }) => name)).toEqual(expect.arrayContaining(runs))
    // A statement without a name is part of a function, or checks a foreign key, and is checked too.
    const checked = plans.filter(({ name }) => name === null || runs.includes(name))
    const problems = (leave: boolean) => checked.flatMap(plan => problemsOf(plan, leave, mostRows))
    if (!excused) expect(problems(walks !== undefined)).toEqual([])
    if (excused || walks) expect(problems(false), 'needs no excuse').not.toEqual([])
  },
  (text, journey) => firstJourneys.set(text, firstJourneys.get(text) ?? journey),
)

it('each statement of src/ is in a journey that checks its plan, or in the list of exceptions', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => /\.tsx?$/.test(file))
  const inSource = files.flatMap(file => {
    const text = readFileSync(`src/${file}`, 'utf8')
    const ofTables = [...text.matchAll(/(defineResource|createTenantTable)<\w+>\(\{[^}]*?\bname: '(\w+)'/g)].flatMap(
      ([, define, noun]) =>
        [...tenantTableStatements, ...(define === 'defineResource' ? searchStatements : [])].map(
          what => `${noun}.${what}`,
        ),
    )
    return [...namesIn(text), ...ofTables]
  })
  const checked = [
    ...journeys.flatMap(({ runs }) => runs),
    ...Object.values(statementsWithoutJourney).flatMap(all => all.split(/\s+/)),
  ]
  expect([...new Set(checked)].sort()).toEqual([...new Set(inSource)].sort())
})

it('schema/statements.sql has exactly the statements that the journeys send', async () => {
  await expect(toFile(firstJourneys)).toMatchFileSnapshot('../../schema/statements.sql')
})

it('each table is listed either as large or as small', async () => {
  const tables = await database.platform<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace in ('public'::regnamespace, 'gateway'::regnamespace)`
  expect(tables.map(({ name }) => name).sort()).toEqual([...large, ...small].sort())
})
