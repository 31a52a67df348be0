import { Type } from 'typebox';
import { nameEnum, nullable } from '../../platform/schemas.ts';

/** What became of an invitation, as responses have it. */
export const invitationSchema = Type.Object(
  {
    status: nameEnum(['sent', 'queued', 'failed', 'not_configured'], {
      description:
        'sent: the mail server has taken it. queued: it is tried again, for seven days. failed: it cannot be sent. not_configured: the installation has nothing to send it with.',
    }),
    url: Type.Optional(
      nullable(
        Type.String({
          description:
            'Where the password is chosen, for the inviter to pass on; only with failed and not_configured. Null in a replay.',
        }),
      ),
    ),
  },
  { title: 'Invitation' },
);
