import { Type } from 'typebox';
import { imei } from '../routes/parameters.ts';

/** Path of every request of the video service. */
export const devicePath = Type.Object({ imei });
