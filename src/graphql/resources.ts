/** The resources whose fields are all columns. A resource that also has other fields has a file of its own. */
import { signups } from '../domain/record/signup.ts'
import { addResource } from './resource.ts'

addResource(signups)
