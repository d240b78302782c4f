/** The resources whose fields are all columns. Each other resource has its own file. */
import { signups } from '../domain/record/signup.ts'
import { addResource } from './resource.ts'

addResource(signups)
