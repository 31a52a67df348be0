import { Alert, Code, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyText } from '../../../common/ui/copy-text.tsx';
import type { CreatedUser } from '../queries.ts';

/** Says what happened to an invitation, and shows the link once if the inviter must pass it on. */
export function InvitationNotice({ user, onClose }: { user: CreatedUser; onClose: () => void }) {
  const { t } = useTranslation('account');
  const { invitation } = user;
  if (invitation === undefined) return null;
  const url = invitation.url ?? null;
  return (
    <Alert
      mb="md"
      variant="outline"
      color={url === null ? 'action' : 'critical'}
      role="status"
      title={t(`invitation.${invitation.status}`, { name: user.name })}
      withCloseButton
      closeButtonLabel={t('common:action.close')}
      onClose={onClose}
    >
      {url === null ? null : (
        <>
          <Text mb="sm">{t('invitation.passOn')}</Text>
          <Group>
            <Code className="link-once">{url}</Code>
            <CopyText text={url} label={t('invitation.copy')} />
          </Group>
        </>
      )}
    </Alert>
  );
}
