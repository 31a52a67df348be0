import { Type } from 'typebox';
import { imei } from '../routes/parameters.ts';

/** Path of every request of the video service. */
export const devicePath = Type.Object({ imei });

/** Live or recorded video of a stream. */
export const streamKind = Type.String({
  enum: ['live', 'history'],
  default: 'live',
  description: 'Live or recorded video.',
});
