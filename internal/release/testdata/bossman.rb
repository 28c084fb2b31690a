class Bossman < Formula
  desc "Task board and tool gateway for crews of AI agents, over MCP"
  homepage "https://github.com/bossman-dev/bossman"
  version "1.2.3"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/bossman-dev/bossman/releases/download/v1.2.3/bossman_1.2.3_darwin_arm64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000-darwinarm64"
    end
    on_intel do
      url "https://github.com/bossman-dev/bossman/releases/download/v1.2.3/bossman_1.2.3_darwin_amd64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000-darwinamd64"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/bossman-dev/bossman/releases/download/v1.2.3/bossman_1.2.3_linux_arm64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000-linuxarm64"
    end
    on_intel do
      url "https://github.com/bossman-dev/bossman/releases/download/v1.2.3/bossman_1.2.3_linux_amd64.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000-linuxamd64"
    end
  end

  def install
    bin.install "bossman"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/bossman.bash" => "bossman"
    zsh_completion.install "completions/_bossman"
    fish_completion.install "completions/bossman.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/bossman version")
  end
end
