import { Button, Code, CopyButton, Group, Modal, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** Shows a new secret once, to be copied. */
export function SecretOnce({ secret, onClose }: { secret: string; onClose: () => void }) {
  const { t } = useTranslation('profile');
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('webhooks.secret')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <Text mb="md">{t('webhooks.secretOnce')}</Text>
      <Group>
        <Code>{secret}</Code>
        <CopyButton value={secret}>
          {({ copied, copy }) => (
            <Button size="compact-sm" variant="default" onClick={copy}>
              {t(copied ? 'common:action.copied' : 'common:action.copy')}
            </Button>
          )}
        </CopyButton>
      </Group>
    </Modal>
  );
}
