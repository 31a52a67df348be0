import { type Static, Type } from 'typebox';
import { mapSourceSchema } from '../../maps/map-sources.ts';

/** Settings that the page reads at run time, so that one build serves every installation. */
export const dashboardConfigSchema = Type.Object(
  {
    product_name: Type.String(),
    has_demo_menu: Type.Boolean({ description: 'Whether the page controls the simulated vehicles of a local start.' }),
    ws_url: Type.String(),
    video_url: Type.String(),
    map_sources: Type.Array(mapSourceSchema, {
      description: 'Base maps, the first of which is shown at first. Without one the page shows its offline map.',
    }),
    languages: Type.Array(Type.String()),
    signup_enabled: Type.Boolean({ description: 'Whether visitors may register an account.' }),
    one_time_codes: Type.Boolean({ description: 'Whether users can log in with a code by SMS.' }),
    mail: Type.Boolean({ description: 'Whether the installation sends invitations and reset links by mail.' }),
  },
  { title: 'DashboardConfig' },
);

export type DashboardConfig = Static<typeof dashboardConfigSchema>;
