import { Type } from 'typebox';
import { nameEnum, nullable } from '../../platform/schemas.ts';

/** The result of an invitation in responses. */
export const invitationSchema = Type.Object(
  {
    status: nameEnum(['sent', 'queued', 'failed', 'not_configured'], {
      description:
        'sent: the mail server accepted the mail. queued: delivery is retried for seven days. failed: the mail cannot be sent. not_configured: the installation has no mail delivery.',
    }),
    url: Type.Optional(
      nullable(
        Type.String({
          description:
            'Link to choose the password, which the inviter passes on. Present only with failed and not_configured; null in a replay.',
        }),
      ),
    ),
  },
  { title: 'Invitation' },
);
