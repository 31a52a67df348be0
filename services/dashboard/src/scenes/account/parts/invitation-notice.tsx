import { Alert, Button, Code, CopyButton, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
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
            <CopyButton value={url}>
              {({ copied, copy }) => (
                <Button size="compact-sm" variant="default" onClick={copy}>
                  {t(copied ? 'common:action.copied' : 'invitation.copy')}
                </Button>
              )}
            </CopyButton>
          </Group>
        </>
      )}
    </Alert>
  );
}
