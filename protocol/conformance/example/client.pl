#!/usr/bin/perl
# A small client in Perl, written from protocol/GUIDE.md, with the adapter for the conformance kit at its end.
# It needs the core modules alone.
use strict;
use warnings;
use IPC::Open2;
use JSON::PP;

my $json = JSON::PP->new->utf8->canonical;
$SIG{PIPE} = 'IGNORE';    # the end of the server is seen at its output

package Einlass {

    # Starts einlass and introduces this program. Returns the client and the error of initialize, if there is one.
    sub start {
        my ($class, $params) = @_;
        my $program = find();
        my $self = bless {last_id => 0, buffer => '', answers => {}, heard => []}, $class;
        # Standard error is not redirected, so that its lines go to the log of this program.
        $self->{pid} = IPC::Open2::open2($self->{from}, $self->{to}, $program);
        binmode $_ for $self->{from}, $self->{to};
        $self->{kinds} = {map { $_ => 1 } @{$params->{capabilities}{prompts} || []}};
        my $answer = $self->wait($self->request('initialize', {protocolVersion => 1, processId => $$, %$params}));
        return ($self, $answer->{result} ? undef : $answer);
    }

    sub find {
        if (my $named = $ENV{EINLASS}) {
            -x $named or die "EINLASS names no program: $named\n";
            return $named;
        }
        for my $folder (split(/:/, $ENV{PATH} || ''), $0 =~ m{^(.*)/} ? $1 : '.', "$ENV{HOME}/.local/bin") {
            return "$folder/einlass" if -x "$folder/einlass";
        }
        die "einlass is not installed\n";
    }

    # Sends a request without waiting and returns its id.
    sub request {
        my ($self, $method, $params) = @_;
        my $id = ++$self->{last_id};
        $self->send({jsonrpc => '2.0', id => $id, method => $method, params => $params});
        return $id;
    }

    sub send {
        my ($self, $message) = @_;
        my $line = $json->encode($message) . "\n";
        while (length $line) {
            my $count = syswrite $self->{to}, $line;
            return unless defined $count;    # the server has ended
            substr $line, 0, $count, '';
        }
    }

    # Waits for the answer to a request: {result}, {error} or {ended: exit code}.
    sub wait {
        my ($self, $id) = @_;
        until ($self->{answers}{$id}) {
            $self->read or return {ended => $self->close};
        }
        return delete $self->{answers}{$id};
    }

    # Waits for the next notification of this method.
    sub hear {
        my ($self, $method) = @_;
        while (1) {
            for my $index (0 .. $#{$self->{heard}}) {
                next if $self->{heard}[$index]{method} ne $method;
                return splice @{$self->{heard}}, $index, 1;
            }
            $self->read or return {ended => $self->close};
        }
    }

    # Waits until this prompt is open, or einlass has ended.
    sub wait_for_prompt {
        my ($self, $prompt) = @_;
        until ($self->{opened}{$prompt}) { $self->read or return }
    }

    sub cancel {
        my ($self, $id) = @_;
        $self->send({jsonrpc => '2.0', method => '$/cancelRequest', params => {id => $id}});
    }

    # Reads one message. Only LF ends a line, because U+2028 is ordinary text. Returns false at the end of the output.
    sub read {
        my ($self) = @_;
        my $end;
        while (($end = index $self->{buffer}, "\n") < 0) {
            my $count = sysread $self->{from}, $self->{buffer}, 65536, length $self->{buffer};
            return 0 unless $count;
        }
        my $message = $json->decode(substr $self->{buffer}, 0, $end + 1, '');
        if (!exists $message->{method}) {
            my %answer = map { $_ => $message->{$_} } grep { exists $message->{$_} } qw(result error);
            $self->{answers}{$message->{id}} = \%answer;
            return 1;
        }
        my $params = $message->{params} || {};
        if ($message->{method} eq 'prompt.opened' && !$self->{kinds}{any} && !$self->{kinds}{$params->{kind}}) {
            $self->answer($params->{prompt}, {action => 'cancel'});    # a later einlass may know more kinds
            return 1;
        }
        $self->{opened}{$params->{prompt}} = 1 if $message->{method} eq 'prompt.opened';
        push @{$self->{heard}}, {method => $message->{method}, params => $params};
        return 1;
    }

    sub answer {
        my ($self, $prompt, $members) = @_;
        $self->request('prompt.answer', {%$members, prompt => $prompt});
    }

    # Closes the input, reads the output to its end and returns the exit code.
    sub close {
        my ($self) = @_;
        return $self->{code} if defined $self->{code};
        close $self->{to};
        1 while sysread $self->{from}, my $rest, 65536;
        waitpid $self->{pid}, 0;
        return $self->{code} = $? & 127 ? 128 + ($? & 127) : $? >> 8;
    }
}

# The adapter: one task of the conformance kit comes on standard input.

$| = 1;
my $task = $json->decode(scalar <STDIN>);
my ($einlass, $refused) = Einlass->start($task->{initialize});
print $json->encode($refused), "\n" if $refused;
my %ids;
for my $step ($refused ? () : @{$task->{steps}}) {
    if ($step->{request}) { $ids{$step->{request}} = $einlass->request($step->{method}, $step->{params}) }
    if ($step->{await}) { print $json->encode($einlass->wait($ids{$step->{await}})), "\n" }
    if ($step->{hear}) { print $json->encode($einlass->hear($step->{hear})), "\n" }
    if ($step->{answer}) {
        $einlass->wait_for_prompt($step->{answer});
        $einlass->answer($step->{answer}, $step->{with});
    }
    if ($step->{cancel}) { $einlass->cancel($ids{$step->{cancel}}) }
}
$einlass->close;
